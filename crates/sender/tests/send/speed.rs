//! The number of attempts a second by one thread, and the cost of one: run it alone, with
//! `--release` and `--run-ignored only`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use stagger::{Clock, StdTime};
use stagger_sender::Sender;

use crate::endpoint::{endpoint, message, private};

const CONNECTIONS: usize = 16;
const ATTEMPTS: usize = 4_000;

/// A receiver that does nothing but answer, on threads of its own.
fn receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it connects");
            thread::spawn(move || {
                let mut bytes = [0; 8192];
                while matches!(stream.read(&mut bytes), Ok(1..)) {
                    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    stream.write_all(reply).expect("it reads");
                }
            });
        }
    });
    url
}

/// Nanoseconds that this thread has run.
fn on_cpu() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("a number")
}

#[ignore = "it measures, and says nothing on a machine that is busy"]
#[tokio::test]
async fn attempts_a_second() {
    let sender = Sender::new(private()).expect("no certificates to read");
    let target = Arc::new(sender.prepare(&endpoint(&receiver())));
    let (began, before) = (StdTime.now(), on_cpu());
    let tasks = (0..CONNECTIONS).map(|_| {
        let (sender, target) = (sender.clone(), Arc::clone(&target));
        tokio::spawn(async move {
            let (message, payload) = (message(), Bytes::from(vec![b'a'; 1024]));
            for _ in 0..ATTEMPTS {
                let answer = sender.send_to(&target, &message, payload.clone(), 1).await;
                assert_eq!(answer.result, Ok(200));
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no attempt fails");
    }
    let (took, used) = (StdTime.now() - began, on_cpu() - before);
    let all = (CONNECTIONS * ATTEMPTS) as u64;
    let rate = all * 1_000_000_000 / took.as_nanos();
    println!("{rate} attempts a second, {} ns of CPU each", used / all);
}
