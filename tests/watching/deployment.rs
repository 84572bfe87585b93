//! The deployment speaks of things that exist: mounted files, the port, the service that Prometheus discovers.

use std::os::unix::fs::PermissionsExt;

use counterfoil::settings::keys::{Initial, KEYS};

use crate::{read, repository};

fn listening_port() -> String {
    let key = KEYS.iter().find(|key| (key.section, key.name) == ("http", "listen")).unwrap();
    let Initial::Text(listen) = key.default else { panic!("http.listen has a default") };
    listen.rsplit_once(':').unwrap().1.to_owned()
}

#[test]
fn every_file_that_compose_mounts_is_there() {
    let compose = read("docker-compose.yml");
    let mounts: Vec<&str> = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .filter(|mount| mount.ends_with(":ro"))
        .map(|mount| mount.split_once(":-").map_or(mount, |(_, default)| default))
        .map(|mount| mount.split([':', '}']).next().unwrap())
        .collect();
    assert!(mounts.len() >= 7, "{mounts:?}");
    for mount in mounts {
        assert!(repository(mount).exists(), "docker-compose.yml mounts {mount}");
    }
}

#[test]
fn prometheus_discovers_the_workers_at_the_port_where_they_listen() {
    let port = listening_port();
    let prometheus = read("deploy/prometheus/prometheus.yml");
    assert!(prometheus.contains("- names: [worker]") && prometheus.contains(&format!("port: {port}")), "{prometheus}");
    let compose = read("docker-compose.yml");
    assert!(compose.contains("\n  worker:\n") && compose.contains(&format!("expose: [\"{port}\"]")));
    assert!(read("Dockerfile").contains(&format!("EXPOSE {port}\n")));
}

#[test]
fn secrets_are_files_that_the_script_makes_and_git_and_the_image_never_see() {
    let compose = read("docker-compose.yml");
    let script = read("scripts/compose-secrets");
    for line in compose.lines().filter(|line| line.contains("{file: ./deploy/secrets/")) {
        let name = line.trim().split(':').next().unwrap();
        assert!(script.contains(name), "scripts/compose-secrets does not make {name}");
    }
    for ignored in [".gitignore", ".dockerignore"] {
        assert!(read(ignored).lines().any(|line| line == "/deploy/secrets"), "{ignored}");
    }
    for variable in compose.lines().filter(|line| line.trim_start().starts_with("COUNTERFOIL__")) {
        assert!(variable.contains("_FILE: /run/secrets/"), "a secret by value: {variable}");
    }
}

#[test]
fn ports_are_published_on_the_loopback_alone() {
    for line in read("docker-compose.yml").lines().filter(|line| line.trim_start().starts_with("ports:")) {
        assert!(line.contains("[\"127.0.0.1:"), "{line}");
    }
}

#[test]
fn scripts_can_be_run() {
    for script in ["scripts/compose-secrets", "deploy/postgres/logins.sh"] {
        let mode = std::fs::metadata(repository(script)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script} is not executable");
    }
}

#[test]
fn the_operations_page_leads_to_every_runbook() {
    let operations = read("docs/operations.md");
    for entry in std::fs::read_dir(repository("docs/runbooks")).unwrap() {
        let page = entry.unwrap().file_name().into_string().unwrap();
        assert!(operations.contains(&format!("(runbooks/{page})")), "docs/operations.md does not lead to {page}");
    }
}
