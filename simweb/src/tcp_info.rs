//! The state of a TCP connection in the kernel (`TCP_INFO` of tcp(7)). A busy server reads a request, and
//! notices that the client has left, later than they happened.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// State of a connection that neither side has closed (`TCP_ESTABLISHED`).
const ESTABLISHED: u8 = 1;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Time since the last bytes arrived; it is exact to some milliseconds.
    pub since_arrival: Duration,
    /// Time since the client closed its side of the connection, or reset it, as exact; `None` while it
    /// is open.
    pub closed_for: Option<Duration>,
}

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// # Errors
    /// Fails if `socket` is not a TCP socket.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `fd` is open, because it is borrowed. The kernel writes at most `size` bytes to
        // `info`, which has that size, and keeps neither pointer.
        let result = unsafe {
            libc::getsockopt(
                fd,
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut size,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: all fields are integers, for which zeros are valid, and the kernel wrote the rest.
        let info = unsafe { info.assume_init() };
        Ok(Self {
            since_arrival: Duration::from_millis(info.tcpi_last_data_recv.into()),
            // The client's FIN is the last segment that acknowledges anything.
            closed_for: (info.tcpi_state != ESTABLISHED)
                .then(|| Duration::from_millis(info.tcpi_last_ack_recv.into())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::time::Clock;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn arrivals_and_closes_are_known_before_anything_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        std::thread::sleep(Duration::from_millis(60));
        let clock = Clock::start();
        let before = clock.now();
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let written = clock.now();
        std::thread::sleep(Duration::from_millis(120));
        let since = clock.now().since(written);
        let info = TcpInfo::of(&server).unwrap();
        // Times of the kernel are exact to one of its ticks, which are at most 10 ms.
        let tick = Duration::from_millis(11);
        assert!(info.since_arrival + tick >= since, "{info:?}, {since:?}");
        assert!(info.since_arrival <= clock.now().since(before) + tick, "{info:?}");
        assert_eq!(info.closed_for, None);
        let before = clock.now();
        drop(client);
        let closed = clock.now();
        std::thread::sleep(Duration::from_millis(120));
        let since = clock.now().since(closed);
        let info = TcpInfo::of(&server).unwrap();
        let closed_for = info.closed_for.expect("the close is known");
        assert!(closed_for + tick >= since, "{info:?}, {since:?}");
        assert!(closed_for <= clock.now().since(before) + tick, "{info:?}");
    }

    #[test]
    fn other_files_have_no_connection() {
        assert!(TcpInfo::of(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
