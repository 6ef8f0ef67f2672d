//! Test parts for dcli: a scripted model server, scripted agents, hostile process trees, and the
//! probes that tests look at them with. Never published; nothing in the product depends on it.

pub mod agent;
pub mod clis;
pub mod evidence;
pub mod hang;
pub mod hostile;
pub mod model;
mod proc;
pub mod process;
pub mod programs;
pub mod room;
