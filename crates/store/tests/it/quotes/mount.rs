//! A small file system for the duration of a test. Mounting needs root; without it, the test prints that it is skipped.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A mounted file system.
pub(crate) struct Mount {
    dir: TempDir,
    _image: Option<TempDir>,
}

impl Mount {
    /// Mounts a file system of this many KiB in memory.
    pub(crate) fn in_memory(kib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = run("mount", &["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs", text(dir.path())]);
        mounted.then_some(Self { dir, _image: None }).or_else(skipped)
    }

    /// Mounts a file system of this many MiB on a separate disk, which is an image file.
    pub(crate) fn on_disk(mib: u64) -> Option<Self> {
        let (dir, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = image.path().join("image");
        std::fs::File::create(&file).unwrap().set_len(mib << 20).unwrap();
        let mounted = run("mkfs.ext4", &["-q", "-F", text(&file)])
            && run("mount", &["-o", "loop", text(&file), text(dir.path())]);
        mounted.then_some(Self { dir, _image: Some(image) }).or_else(skipped)
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Makes it writable or read-only.
    pub(crate) fn writable(&self, yes: bool) {
        let how = if yes { "remount,rw" } else { "remount,ro" };
        assert!(run("mount", &["-o", how, text(self.path())]));
    }

    /// Fills the available space except for some bytes.
    pub(crate) fn fill(&self, leave: usize) {
        let mut file = std::fs::File::create(self.path().join("filler")).unwrap();
        while file.write_all(&[1; 4_096]).is_ok() {}
        let len = file.metadata().unwrap().len();
        file.set_len(len.saturating_sub(leave as u64)).unwrap();
    }

    /// Frees the space again.
    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.path().join("filler")).unwrap();
    }

    /// Blocks every write until the guard is dropped, for at most twenty seconds. The limit is there because a test
    /// that dies would otherwise leave processes that nothing can end.
    pub(crate) fn freeze(&self) -> Frozen {
        let script = "fsfreeze -f \"$0\" && echo frozen; read -t 20; fsfreeze -u \"$0\"";
        let mut child = Command::new("bash")
            .args(["-c", script, text(self.path())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 7];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(&said, b"frozen\n");
        Frozen(child)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", text(self.path())]);
    }
}

/// A file system that blocks every write.
pub(crate) struct Frozen(Child);

impl Drop for Frozen {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn skipped<T>() -> Option<T> {
    eprintln!("skipped: a file system of its own needs root, mount and mkfs.ext4");
    None
}

fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
