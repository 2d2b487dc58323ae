//! The chat client against a server that behaves and misbehaves.

use std::time::Duration;

use whetstone_core::Message;
use whetstone_core::config::TeacherConfig;

use super::*;
use crate::loopback::chat::{ChatServer, Manners};

fn settings(server: &ChatServer) -> Settings {
    Settings {
        api_url: server.url(),
        backoff: Duration::from_millis(1),
        breaker_pause: Duration::from_millis(1),
        ..Settings::default()
    }
}

fn client(server: &ChatServer) -> Client {
    Client::with_key(settings(server), None).unwrap()
}

fn request(text: &str) -> Request {
    Request::of(&TeacherConfig::default(), vec![Message::user(text)])
}

#[test]
fn a_completion_comes_back() {
    let server = ChatServer::start(Manners::default());
    let response = client(&server).complete(&request("1+1?")).unwrap();
    assert_eq!(response.model, "Qwen/Qwen3-32B-FP8");
    assert!(response.completions[0].text.starts_with("<think>"), "{response:?}");
}
