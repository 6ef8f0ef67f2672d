//! Incremental decoders of foreign bytes.
