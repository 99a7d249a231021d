//! Where a server listens, and a socket to it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(formatter),
            Self::Tcp(address) => address.fmt(formatter),
        }
    }
}

impl Address {
    /// The address of a socket path, which begins with "/", or those of "host:port". IPv4 comes first: servers often
    /// listen on IPv4 alone.
    ///
    /// `ErrorKind::InvalidInput`: the text is neither. Other errors: the host is not known.
    pub fn all(text: &str) -> io::Result<Vec<Self>> {
        if text.starts_with('/') {
            return Ok(vec![Self::Unix(text.into())]);
        }
        let mut found: Vec<_> = text.to_socket_addrs()?.collect();
        found.sort_by_key(SocketAddr::is_ipv6);
        Ok(found.into_iter().map(Self::Tcp).collect())
    }

    /// Whether a password may be sent in clear.
    pub fn is_secure(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// Opens a non-blocking socket; true if it is connected already. Otherwise wait until it is writable, then
    /// call `connected`.
    ///
    /// `ErrorKind::WouldBlock`: the server's accept queue is full; try again.
    pub fn connect_nonblocking(&self) -> io::Result<(OwnedFd, bool)> {
        let open = |family| {
            socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
        };
        let (socket, begun) = match self {
            Self::Unix(path) => {
                let socket = open(AddressFamily::UNIX)?;
                let begun = connect(&socket, &SocketAddrUnix::new(path)?);
                (socket, begun)
            }
            Self::Tcp(address) => {
                let socket =
                    open(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
                sockopt::set_tcp_nodelay(&socket, true)?;
                let begun = connect(&socket, address);
                (socket, begun)
            }
        };
        match begun {
            Ok(()) => Ok((socket, true)),
            Err(Errno::INPROGRESS | Errno::INTR) => Ok((socket, false)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The outcome of connecting, once the socket is writable.
pub fn connected(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn wait_until_writable(socket: &OwnedFd) {
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&patience)), Ok(1));
    }

    #[test]
    fn an_address_is_a_socket_path_or_host_and_port() {
        assert_eq!(Address::all("/run/a.sock").unwrap(), [Address::Unix("/run/a.sock".into())]);
        let local = Address::all("127.0.0.1:3306").unwrap();
        assert_eq!(local, [Address::Tcp(([127, 0, 0, 1], 3306).into())]);
        assert_eq!(local[0].to_string(), "127.0.0.1:3306");
        assert_eq!(Address::all("[::1]:33").unwrap()[0].to_string(), "[::1]:33");
        let named = Address::all("localhost:1").unwrap();
        assert!(matches!(named[0], Address::Tcp(at) if at.ip().is_loopback()));
        for wrong in ["", "localhost", "127.0.0.1:", "127.0.0.1:65536", "a.sock"] {
            assert_eq!(Address::all(wrong).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong}");
        }
        let unknown = format!("{}:1", "x".repeat(64)); // no name's part is that long
        assert_ne!(Address::all(&unknown).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn only_a_socket_file_is_secure() {
        assert!(Address::Unix("/run/a.sock".into()).is_secure());
        assert!(!Address::Tcp(([127, 0, 0, 1], 3306).into()).is_secure());
    }

    #[test]
    fn tcp_connections_set_nodelay() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (socket, done) = Address::Tcp(listener.local_addr().unwrap()).connect_nonblocking().unwrap();
        if !done {
            wait_until_writable(&socket);
        }
        connected(&socket).unwrap();
        assert!(sockopt::tcp_nodelay(&socket).unwrap());
        listener.accept().unwrap();
    }
}
