//! Whoever sends too much, too little, too often or without leave costs nobody else anything.

use super::*;

/// A server whose every step takes a second and a half and is void then.
fn serve_slow(more: &[&str]) -> Server {
    let slow = [
        "--set",
        "plugins.limits.fuel=1000000000000000",
        "--set",
        "plugins.limits.timeout_ms=1500",
    ];
    serve_hostile("spin", &[&slow, more].concat())
}

#[test]
fn pings_are_answered_and_others_served_while_a_step_runs() {
    let server = serve_slow(&["--jobs", "2"]);
    let mut socket = Socket::open(&server);
    socket.ask(&reset(1));
    socket.say(&step("1"));
    socket.send(PING, b"there?");
    assert_eq!(socket.receive(), Some((PONG, b"there?".to_vec())));
    let mut other = Socket::open(&server);
    assert_eq!(other.ask(&reset(2))["type"], "observation");
    socket.say(&json!({"type": "state"}));
    let void = socket.hear();
    assert_eq!(void["data"]["cause"], "out_of_time", "{void}");
    assert_eq!(socket.hear()["type"], "state", "what was said meanwhile is answered then");
}

#[test]
fn who_leaves_in_the_middle_of_a_step_leaves_nothing_behind() {
    let server = serve_slow(&["--jobs", "2"]);
    for _ in 0..2 {
        let mut socket = Socket::open(&server);
        socket.ask(&reset(1));
        socket.say(&step("1"));
    }
    wait_until_empty(&server);
    assert_eq!(Socket::open(&server).ask(&reset(1))["type"], "observation");
}

#[test]
fn idle_sessions_end_and_half_open_sockets_are_closed() {
    let server = serve("plan-path", &["--idle-timeout-s", "0.5"]);
    let mut socket = Socket::open(&server);
    socket.ask(&reset(1));
    let ended = socket.hear();
    assert_eq!(ended["data"]["code"], "SESSION_ERROR", "{ended}");
    assert_eq!(socket.farewell().0, 1001);
    let create = json!({"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"});
    let created = server.post("/mcp", &create.to_string()).json();
    assert!(created["result"]["session_id"].is_string(), "{created}");
    wait_until_empty(&server);

    let server = serve("plan-path", &["--silence-timeout-s", "0.6"]);
    let (mut dead, mut alive) = (Socket::open(&server), Socket::open(&server));
    dead.ask(&reset(1));
    let begun = Instant::now();
    let mut pings = 0;
    while begun.elapsed() < Duration::from_millis(1500) {
        let (kind, payload) = alive.receive().expect("who answers is kept");
        assert_eq!(kind, PING);
        alive.send(PONG, &payload);
        pings += 1;
    }
    assert!(pings >= 2);
    assert_eq!(sessions(&server), 1);
    while let Some((kind, _)) = dead.receive() {
        assert!(kind == PING || kind == CLOSE);
    }
}

#[test]
fn a_session_more_than_there_may_be_is_told_so() {
    let server = serve("plan-path", &["--sessions", "2"]);
    let (first, _second) = (Socket::open(&server), Socket::open(&server));
    let mut third = Socket::open(&server);
    let full = third.hear();
    assert_eq!(full["data"]["code"], "CAPACITY_REACHED");
    assert_eq!(
        (&full["data"]["active_sessions"], &full["data"]["max_sessions"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(third.receive().map(|(kind, _)| kind), Some(CLOSE));
    assert_eq!(server.post("/reset", "{}").status, 503);
    drop(first);
    server.wait_for(|health| health["active_sessions"] == 1);
    assert_eq!(Socket::open(&server).ask(&reset(1))["type"], "observation");
}

#[test]
fn only_who_shows_the_token_comes_in_and_beyond_loopback_there_must_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let path = file.display().to_string();
    let server = serve("plan-path", &["--token-file", &path]);
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.get("/").status, 200, "the page asks for the token itself");
    let refused = server.get("/schema");
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(Socket::at(&server, "/ws", "").err(), Some(401));
    assert_eq!(Socket::at(&server, "/ws", "Authorization: Bearer wrong\r\n").err(), Some(401));
    for right in [
        "Authorization: Bearer 0123456789abcdef\r\n",
        "Sec-WebSocket-Protocol: troupe, troupe.token.0123456789abcdef\r\n",
    ] {
        let mut socket =
            Socket::at(&server, "/ws", right).unwrap_or_else(|status| panic!("{status}"));
        assert_eq!(socket.ask(&reset(1))["type"], "observation");
    }
    let sudoku = plugin("sudoku").display().to_string();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let (code, stdout, stderr) = run(&["serve", "--environment", &sudoku, "--listen", address]);
        assert!(
            code == 2 && stdout.is_empty() && stderr.contains("--token-file"),
            "{code}: {stderr}"
        );
    }
    std::fs::write(&file, "short").unwrap();
    let (code, _, stderr) = run(&["serve", "--environment", &sudoku, "--token-file", &path]);
    assert!(code == 2 && stderr.contains("16 characters"), "{code}: {stderr}");
}

#[test]
fn of_web_pages_only_the_servers_own_comes_in() {
    let server = serve("plan-path", &[]);
    let origin = |origin: &str| Socket::at(&server, "/ws", &format!("Origin: {origin}\r\n")).err();
    assert_eq!(origin(&format!("http://{}", server.address())), None);
    assert_eq!(origin("http://localhost:1"), Some(403));
    assert_eq!(origin("null"), Some(403));
    let page = server.get("/");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    for part in ["/", "/token.js", "/page.js", "/page.css"] {
        let text = server.get(part).body;
        assert!(
            !text.contains("http:") && !text.contains("https://") && !text.contains("//cdn"),
            "{part}"
        );
    }
    let mut socket = Socket::open(&server);
    assert_eq!(socket.ask(&json!({"type": "render"}))["data"], Value::Null);
    socket.ask(&reset(1));
    let drawn = socket.ask(&json!({"type": "render"}));
    assert!(drawn["data"]["svg"].as_str().unwrap().starts_with("<svg"), "{drawn}");
}

#[test]
fn nobody_can_send_too_much_or_too_little_at_the_cost_of_others() {
    let server = serve("plan-path", &["--receive-timeout-ms", "1000", "--max-frame-kib", "64"]);
    let mut honest = Socket::open(&server);
    let begun = honest.ask(&reset(1));
    let before = server.resident_kib();

    let mut huge = Socket::open(&server);
    huge.send_head(TEXT, 100 << 20);
    assert_eq!(huge.farewell().0, 1009);
    let block = vec![b'x'; 1 << 20];
    // Taken or refused: it is thrown away.
    for _ in 0..100 {
        if !huge.send_raw(&block) {
            break;
        }
    }
    for (opcode, payload, code) in [(TEXT, &b"\"\xff\""[..], 1007), (3, b"", 1002)] {
        let mut unfit = Socket::open(&server);
        unfit.send(opcode, payload);
        assert_eq!(unfit.farewell().0, code);
    }
    let mut eager = Socket::open(&server);
    eager.ask(&reset(1));
    let mut taken = 0;
    let message = step(&"U ".repeat(16_000)).to_string();
    while taken < 3000 && eager.send_raw(&frame(message.as_bytes())) {
        taken += 1;
    }
    assert_eq!(server.post("/reset", &" ".repeat(128 << 10)).status, 413);
    assert_eq!(
        server.ask("GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status,
        400
    );
    assert_eq!(
        server
            .ask("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .status,
        404
    );
    assert_eq!(
        server
            .ask("GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            .status,
        403
    );

    let silent: Vec<TcpStream> = (0..1000).map(|_| server.connect()).collect();
    for stream in silent.iter().take(300) {
        let mut stream = stream;
        stream.write_all(b"GET /ws HTTP/1.1\r\nHo").unwrap();
    }
    assert_eq!(honest.ask(&reset(1)), begun, "others notice nothing");
    drop((huge, eager));
    thread::sleep(Duration::from_millis(1500));
    drop(silent);
    server.wait_for(|health| health["active_sessions"] == 1);
    let gained = server.resident_kib().saturating_sub(before);
    assert!(gained < 64 << 10, "{gained} KiB stayed behind");
    assert_eq!(honest.ask(&reset(1)), begun);
}

/// A text frame, masked with zeros.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81, 0xff];
    frame.extend((payload.len() as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend_from_slice(payload);
    frame
}

#[test]
fn a_session_keeps_to_its_rate() {
    let server = serve("plan-path", &["--rate", "10"]);
    let mut socket = Socket::open(&server);
    let begun = Instant::now();
    for _ in 0..20 {
        socket.ask(&json!({"type": "state"}));
    }
    assert!(begun.elapsed() > Duration::from_millis(800), "{:?}", begun.elapsed());
}

#[test]
fn a_server_that_is_told_to_stop_says_farewell() {
    let mut server = serve("plan-path", &[]);
    let mut socket = Socket::open(&server);
    socket.ask(&reset(1));
    server.terminate();
    assert_eq!(socket.farewell().0, 1001);
    assert_eq!(server.end(), Some(0));
}
