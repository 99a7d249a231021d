//! The load engine: drives open connections of MySQL-family servers with epoll, one slice at a time.
//!
//! `program` (what to send) and `wire` (what comes back) meet in `connection`, one state machine for each
//! connection; `lane` runs many of them on one thread at a `pace` and counts; `engine` joins the lanes of a
//! server. `address` and `login` open connections. The `rows` of a `dataset` are what `load` fills tables with.
//! `levels` finds changes in series of results. `python` is the only module that knows Python.

pub mod address;
pub mod connection;
pub mod dataset;
pub mod engine;
pub mod histogram;
pub mod lane;
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
pub mod wire;
