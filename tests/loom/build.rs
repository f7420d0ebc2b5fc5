fn main() {
    println!("cargo::rustc-check-cfg=cfg(affinity_loom)");
    println!("cargo::rustc-cfg=affinity_loom");
    println!("cargo::rerun-if-changed=build.rs");
}
