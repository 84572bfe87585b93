//! Migrations are embedded by a macro, which does not tell cargo that a new file came.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
