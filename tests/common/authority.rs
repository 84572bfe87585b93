//! An authority of our own and a server's certificate for this machine, made by the openssl program.

#![expect(clippy::unwrap_used, reason = "a test says what it could not go on without")]

use std::path::Path;

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// Leaves in the folder `ca.pem`, and `server.pem` with `server.key`, which it signed.
pub(crate) fn certify(folder: &Path) {
    std::fs::write(folder.join("names"), "subjectAltName = IP:127.0.0.1, DNS:localhost\n").unwrap();
    found(folder, "ca");
    openssl(folder, &format!("req {KEY} -keyout server.key -out server.csr -subj /CN=localhost"));
    openssl(
        folder,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
}

/// Leaves an authority there, `<name>.pem`, that has signed nothing.
pub(crate) fn found(folder: &Path, name: &str) {
    openssl(folder, &format!("req -x509 {KEY} -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}"));
}

fn openssl(folder: &Path, arguments: &str) {
    let mut command = std::process::Command::new("openssl");
    let done = command.args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
}
