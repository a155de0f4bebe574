//! Clients that are refused and go on sending.

use super::*;

#[tokio::test]
async fn a_refused_client_is_read_only_so_far() {
    let house = House::open(bounded(|b| b.linger = Duration::from_secs(3_600))).await;
    let head = format!(
        "POST /agent/abort HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        crate::testing::CREDENTIAL,
        usize::MAX / 4,
    );
    for over_tcp in [true, false] {
        let mut stream: Box<dyn Connection> = match over_tcp {
            true => Box::new(house.tcp().await),
            false => Box::new(house.unix().await),
        };
        stream.write_all(head.as_bytes()).await.unwrap();
        let (chunk, mut sent) = (vec![b' '; 1 << 20], 0);
        while let Ok(bytes) = stream.write(&chunk).await {
            sent += bytes;
        }
        // What the kernel holds on the way comes on top.
        let most = limits::LINGER_BYTES_MAX + (16 << 20);
        assert!((limits::LINGER_BYTES_MAX..most).contains(&sent), "{sent}");
    }
}

#[tokio::test]
async fn a_refused_client_goes_on_sending_only_for_a_while() {
    assert_eq!(Bounds::default().linger, Duration::from_millis(limits::LINGER_MS_MAX));
    let house = House::open(bounded(|b| b.linger = Duration::from_millis(50))).await;
    let mut stream = house.unix().await;
    stream.write_all(b"nonsense\r\n\r\n").await.unwrap();
    // Too little at a time to be ended for how much it is.
    let mut sent = 0;
    while let Ok(bytes) = stream.write(b"and so on").await {
        sent += bytes;
        assert!(sent < limits::LINGER_BYTES_MAX, "it is read on and on");
    }
}

trait Connection: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send {}
impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send> Connection for T {}
