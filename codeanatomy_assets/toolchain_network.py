"""How this machine reaches package registries: pip's index, trusted certificates, proxies. Names no host itself."""

from __future__ import annotations

import ast
import hashlib
import ssl
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

_JKS_MAGIC, _JKS_VERSION, _JKS_TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2
_JKS_PASSWORD = "changeit"


def index_url() -> str:
    """The package index pip would use."""
    from pip._internal.models.index import PyPI

    return pip_settings().get("index-url", PyPI.simple_url).rstrip("/")


@cache
def pip_settings() -> dict[str, str]:
    """pip's settings from its files and environment variables; the environment wins, as in pip."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    pairs = [line.split("=", 1) for line in listing.splitlines() if "=" in line]
    by_section = {key: str(ast.literal_eval(value)) for key, value in pairs}
    settings: dict[str, str] = {}
    for section in ("global.", "install.", "download.", ":env:."):
        settings |= {key.removeprefix(section): by_section[key] for key in by_section if key.startswith(section)}
    return settings


def tls_context() -> ssl.SSLContext:
    """Trusts what pip and this Python trust; pip's own bundle when the machine has no certificates."""
    bundle = pip_settings().get("cert")
    if bundle and Path(bundle).is_file():
        return ssl.create_default_context(cafile=bundle)
    context = ssl.create_default_context()
    if not context.get_ca_certs():
        _load_certificate_folder(context, bundle or ssl.get_default_verify_paths().capath)
    if not context.get_ca_certs():
        from pip._vendor import certifi

        context.load_verify_locations(cafile=certifi.where())
    return context


def java_network_options(trust_store: Path) -> list[str]:
    """JVM options that give Java this machine's certificates and proxies; writes the trust store."""
    trust_store.write_bytes(_java_key_store(tls_context().get_ca_certs(binary_form=True)))
    options = [f"-Djavax.net.ssl.trustStore={trust_store}", f"-Djavax.net.ssl.trustStorePassword={_JKS_PASSWORD}"]
    proxies = getproxies()
    for scheme in ("http", "https"):
        proxy = urlsplit(proxies.get(scheme, ""))
        if proxy.hostname:
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    direct = [host.strip() for host in proxies.get("no", "").split(",") if host.strip()]
    if direct:
        options.append(f"-Dhttp.nonProxyHosts={'|'.join('*' + h if h.startswith('.') else h for h in direct)}")
    return options


def _load_certificate_folder(context: ssl.SSLContext, folder: str | None) -> None:
    """OpenSSL reads a folder of hashed names only as it needs them; loading them all lets us list them."""
    if folder is None:
        return
    for certificate in sorted(Path(folder).glob("*.0")):
        context.load_verify_locations(cafile=str(certificate))


def _java_key_store(certificates: list[bytes]) -> bytes:
    """A JKS trust store: Java reads no PEM bundle, and keytool adds one certificate per JVM start."""
    body = struct.pack(">III", _JKS_MAGIC, _JKS_VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        alias = f"certificate{number}".encode()
        body += struct.pack(f">IH{len(alias)}sQ", _JKS_TRUSTED_CERTIFICATE, len(alias), alias, 0)
        body += struct.pack(">H5sI", len(b"X.509"), b"X.509", len(certificate)) + certificate
    return body + hashlib.sha1(_JKS_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
