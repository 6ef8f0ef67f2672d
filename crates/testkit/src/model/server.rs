//! The listening socket, and the end of everything when the server is dropped.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::connection::serve;
use super::log::{Log, Logged};
use super::scenario::Scenario;
use crate::hang::Hang;

/// A running model server on an ephemeral port of 127.0.0.1. Dropping it closes every connection
/// and waits for its threads.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

/// What all connections have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) scenario: Scenario,
    pub(super) log: Log,
    stopping: AtomicBool,
    open: Mutex<HashMap<u64, TcpStream>>,
}

impl Server {
    /// Starts serving `scenario` from threads of this process.
    ///
    /// # Errors
    /// When the loopback socket cannot be bound.
    pub fn start(scenario: Scenario) -> io::Result<Self> {
        Self::start_logged(scenario, None)
    }

    /// The same, and appends each request to `log` as one line of JSON.
    ///
    /// # Errors
    /// When the log cannot be opened or the loopback socket cannot be bound.
    pub fn start_logged(scenario: Scenario, log: Option<&Path>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            scenario,
            log: Log::new(log)?,
            stopping: AtomicBool::new(false),
            open: Mutex::new(HashMap::new()),
        });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept_until_stopped(&listener, &shared)
        });
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address itself.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Logged> {
        self.shared.log.requests()
    }

    /// The requests so far that offered tools.
    pub fn main_requests(&self) -> Vec<Logged> {
        self.requests().into_iter().filter(|logged| logged.main.is_some()).collect()
    }

    /// Waits until at least `n` requests have come.
    ///
    /// # Errors
    /// [`Hang`] once `limit` has passed.
    pub fn wait_requests(&self, n: usize, limit: Duration) -> Result<Vec<Logged>, Hang> {
        self.shared.log.wait_requests(n, limit)
    }

    /// Waits until the client of request `index` has left before its answer was complete.
    ///
    /// # Errors
    /// [`Hang`] once `limit` has passed.
    pub fn wait_left(&self, index: usize, limit: Duration) -> Result<(), Hang> {
        self.shared.log.wait_left(index, limit)
    }

    /// Serves until the process is ended.
    pub fn serve_forever(mut self) {
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Any connection wakes the accepting thread; it then sees the flag.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

impl Shared {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn keep(&self, id: u64, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, stream);
        Ok(())
    }

    /// Drops the last handle of a connection, which closes it.
    fn forget(&self, id: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn close_all(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in open.values() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

fn accept_until_stopped(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving: Vec<JoinHandle<()>> = Vec::new();
    for (id, stream) in (0..).zip(listener.incoming()) {
        if shared.is_stopping() {
            break;
        }
        serving.retain(|thread| !thread.is_finished());
        if let Ok(stream) = stream
            && shared.keep(id, &stream).is_ok()
        {
            let shared = Arc::clone(shared);
            serving.push(std::thread::spawn(move || {
                serve(stream, &shared);
                shared.forget(id);
            }));
        }
    }
    shared.close_all();
    for thread in serving {
        drop(thread.join());
    }
}
