fn main() {
    dcli_contain::entry();
    let entry = dcli_contain::Entry::current().unwrap();
    let t = std::time::Instant::now();
    println!("{:?}", dcli_contain::probe(&entry));
    println!("{:?}", t.elapsed());
    for i in 0..5 {
        for k in [
            dcli_contain::Kind::PidNamespace,
            dcli_contain::Kind::Guardian,
            dcli_contain::Kind::ProcessGroup,
        ] {
            let t = std::time::Instant::now();
            let l = dcli_contain::Launch {
                program: "/bin/sh".into(),
                args: vec!["-c".into(), "sleep 50 & setsid sleep 60 & exit 3".into()],
                arg0: None,
                env: vec![],
                cwd: "/".into(),
                stdin: dcli_contain::Input::Null,
                stdout: std::fs::File::create("/dev/null").unwrap().into(),
                stderr: std::fs::File::create("/dev/null").unwrap().into(),
                kind: k,
            };
            let c = dcli_contain::start(&entry, l).unwrap();
            let s = t.elapsed();
            let x = c.wait_leader();
            let w = t.elapsed();
            let tree = c.tree();
            let w2 = t.elapsed();
            let e = c.end();
            println!("{k} {s:?} {w:?} {w2:?} {:?} {x:?} {e:?} {:?}", t.elapsed(), c.leader());
            if i == 0 {
                println!("{tree:?}");
            }
        }
    }
}
