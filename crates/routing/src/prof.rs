#![allow(missing_docs, clippy::all)]
use std::cell::RefCell; use std::time::Instant;
thread_local!{ static T: RefCell<Vec<(&'static str, f64, u32)>> = RefCell::new(Vec::new()); static ON: bool = std::env::var("PROF").is_ok(); }
pub fn time<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    if !ON.with(|o| *o) { return f(); }
    let s = Instant::now(); let r = f(); let e = s.elapsed().as_secs_f64()*1e6;
    T.with(|t| { let mut t = t.borrow_mut(); match t.iter_mut().find(|x| x.0 == name) { Some(x) => { x.1 += e; x.2 += 1; }, None => t.push((name, e, 1)) } });
    r
}
pub fn flush() { if !ON.with(|o| *o) { return; } T.with(|t| { let mut t = t.borrow_mut(); let s: Vec<String> = t.iter().map(|x| format!("\"{}\":[{:.1},{}]", x.0, x.1, x.2)).collect(); eprintln!("PROF {{{}}}", s.join(",")); t.clear(); }) }
