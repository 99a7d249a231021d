//! The load engine: drives open connections to MySQL-family servers with epoll, one slice at a time.
//!
//! `program` (what to send) and `wire` (what comes back) meet in `connection`, one state machine per connection.
//! `lane` runs many of them on one thread at a `pace` and counts; `engine` joins a server's lanes. `address` and
//! `login` open connections. `load` fills tables with the `rows` of a `dataset`. `levels` finds change points in
//! a series of results. Only `python` knows Python.

pub mod address;
pub mod connection;
pub mod dataset;
pub mod engine;
pub mod histogram;
pub mod lane;
pub mod learned;
pub mod levels;
pub mod load;
pub mod login;
pub mod pace;
pub mod packet;
pub mod parameter;
pub mod program;
#[cfg(feature = "python")]
mod python;
pub mod random;
pub mod rows;
pub mod sbtest;
pub mod tpcc;
pub mod value;
pub mod wire;
