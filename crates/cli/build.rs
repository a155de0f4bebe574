//! Links the program to a fixed address: a host that only sleeps would otherwise own a copy of every page
//! that the loader writes addresses into (`docs/adr/0011-fixed-address.md`).
//!
//! Nothing is generated here.

#![expect(clippy::disallowed_methods, reason = "cargo tells a build script its target that way")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of_target = |name| std::env::var(name).unwrap_or_default();
    let is_gnu =
        of_target("CARGO_CFG_TARGET_OS") == "linux" && of_target("CARGO_CFG_TARGET_ENV") == "gnu";
    let features = of_target("CARGO_CFG_TARGET_FEATURE");
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    // Elsewhere programs have no fixed address, or a linker of other words. A static program gets its own from the
    // flags that make it static: `./dev static` has them.
    if is_gnu && !is_static {
        println!("cargo::rustc-link-arg-bin=stead=-no-pie");
    }
}
