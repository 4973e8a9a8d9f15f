//! Writes the seeds of every target into a folder with the target's name.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let dir = env::args().nth(1).ok_or_else(|| io::Error::other("usage: braid-fuzz DIRECTORY"))?;
    for target in braid_fuzz::TARGETS {
        let dir = Path::new(&dir).join(target.name);
        fs::create_dir_all(&dir)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(dir.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
