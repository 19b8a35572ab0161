"""The Spark session: a gateway JVM of our own, tuned for many small Delta commits, started when first used.

The JVM is started directly, without spark-submit: no launcher JVM, no system Java, and a standard
input that ends with this process, on which the JVM ends too.
"""

from __future__ import annotations

import atexit
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from codeanatomy_assets.errors import CodeAnatomyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_TIMEOUT_SECONDS = 180
END_TIMEOUT_SECONDS = 30
LAST_WORDS_BYTES = 4000
REMEDY = "check CODEANATOMY_DRIVER_MEMORY, CODEANATOMY_SPARK_MASTER and CODEANATOMY_SPARK_CONF"
OPENED_PACKAGES = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.security.action", "sun.util.calendar",
)  # fmt: skip
S3_OPTIONS = {
    "AWS_ENDPOINT_URL": "fs.s3a.endpoint",
    "AWS_ACCESS_KEY_ID": "fs.s3a.access.key",
    "AWS_SECRET_ACCESS_KEY": "fs.s3a.secret.key",
    "AWS_SESSION_TOKEN": "fs.s3a.session.token",
    "AWS_REGION": "fs.s3a.endpoint.region",
}


@dataclass(frozen=True)
class SparkSettings:
    """What a session is started with. Nothing here changes a row: these are operational settings."""

    java: Path
    jars: Sequence[Path]
    master: str = "local[2]"
    driver_memory: str = "2g"
    cores: int = 2
    log_file: Path | None = None
    jvm_options: Sequence[str] = ()
    storage_options: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)

    def configuration(self) -> dict[str, str]:
        """Spark's settings, tuned: the measurements behind them are in docs/adr."""
        jars = ":".join(str(jar) for jar in self.jars)
        return {
            "spark.master": self.master,
            "spark.app.name": "codeanatomy",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.driver.memory": self.driver_memory,
            # Python workers are started with -m, which would import from the folder they are started in.
            "spark.executorEnv.PYTHONSAFEPATH": "1",
            "spark.python.daemon.module": "codeanatomy_assets.storage.python_workers",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": str(self.cores),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.files.maxPartitionBytes": "8m",
            "spark.sql.files.openCostInBytes": "64k",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            # Many rows a batch are cheaper; those of whole files are wide.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
            "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
            # It runs projections of rows in memory while it plans, one by one, and once for each mention of them.
            "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled": "true",
            "spark.databricks.delta.schema.autoMerge.enabled": "false",
            **_hadoop_options(self.storage_options),
            **self.extra,
        }


def _hadoop_options(storage_options: Mapping[str, str]) -> dict[str, str]:
    """The one storage-options setting, written for delta-rs, in Hadoop's words."""
    options = {f"spark.hadoop.{S3_OPTIONS[key]}": value for key, value in storage_options.items() if key in S3_OPTIONS}
    if options:
        options["spark.hadoop.fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
        options["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if storage_options.get("AWS_ALLOW_HTTP", "").lower() == "true":
        options["spark.hadoop.fs.s3a.connection.ssl.enabled"] = "false"
    return options


class SparkEngine:
    """A session that starts when it is first asked for, and the gateway JVM behind it.

    `launch` may be called earlier, to let the JVM start while Python does something else.
    """

    def __init__(self, settings: SparkSettings) -> None:
        self.settings = settings
        self._session: SparkSession | None = None
        self._gateway: _Gateway | None = None

    @property
    def started(self) -> bool:
        return self._gateway is not None

    def launch(self, inherited: Sequence[int] = ()) -> None:
        """Start the JVM without waiting for it. It holds the inherited descriptors as long as it lives."""
        if self._gateway is None:
            self._gateway = _Gateway(self.settings, inherited)
            atexit.register(self.stop)

    def session(self) -> SparkSession:
        if self._session is None:
            self.launch()
            assert self._gateway is not None
            try:
                self._gateway.connect()
            except CodeAnatomyError:
                self.stop()
                raise
            from pyspark.sql import SparkSession

            self._session = SparkSession.builder.getOrCreate()
        return self._session

    def stop(self, patience: float = END_TIMEOUT_SECONDS) -> None:
        """End the JVM, which stops the session on its way out, or clear up after one that died.

        It is not asked to: an interrupt in mid-call leaves an answer on the connection, and the next call would
        take that for its own.
        """
        if self._session is not None:
            self._session = None
            _forget_gateway()
        if self._gateway is not None:
            self._gateway.end(patience)
            self._gateway = None
        atexit.unregister(self.stop)


class _Gateway:
    """The JVM process. It ends when its standard input does, so it never outlives this process for long."""

    def __init__(self, settings: SparkSettings, inherited: Sequence[int]) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        self._settings = settings
        self._folder = tempfile.TemporaryDirectory(prefix="codeanatomy-gateway-")
        self._told = Path(self._folder.name) / "connection"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["SPARK_HOME"] = str(home)
        os.environ["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(self._told)
        try:
            self._process = self._start(_gateway_command(settings, home, self._folder.name), inherited)
        except OSError as error:
            self._folder.cleanup()
            told = f"Spark did not start: {settings.java} can't be run ({error}): run make setup"
            raise CodeAnatomyError(told) from error
        finally:
            del os.environ["_PYSPARK_DRIVER_CONN_INFO_PATH"]

    def _start(self, command: list[str], inherited: Sequence[int]) -> subprocess.Popen[bytes]:
        path = self._settings.log_file or Path(os.devnull)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            self._logged_before = log.tell()
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder.name,
                pass_fds=tuple(inherited),
                preexec_fn=_ignore_interrupt,
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def connect(self) -> None:
        """Wait until it listens, and tell pyspark where."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._told.exists():
            if not self.is_alive:
                raise CodeAnatomyError(f"Spark did not start (exit {self._process.returncode}): {self._last_words()}")
            if time.monotonic() > deadline:
                self._process.kill()
                raise CodeAnatomyError(f"Spark did not start within {START_TIMEOUT_SECONDS} s: {self._last_words()}")
            time.sleep(0.02)
        connection = self._told.read_bytes()
        port, length = struct.unpack("!ii", connection[:8])
        os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = connection[8 : 8 + length].decode()

    def end(self, patience: float) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _last_words(self) -> str:
        log = self._settings.log_file
        if log is None or not log.exists():
            return f"it left no log; {REMEDY}"
        with log.open("rb") as words:
            words.seek(max(self._logged_before, log.stat().st_size - LAST_WORDS_BYTES))
            last = words.read().decode(errors="replace").strip()
        return f"{REMEDY}; {log} ends with:\n{last}" if last else f"it left no word in {log}; {REMEDY}"


def _gateway_command(settings: SparkSettings, home: Path, scratch: str) -> list[str]:
    """The JVM's command line; what it writes on its way goes to a scratch folder that ends with it."""
    class_path = [str(jar) for jar in settings.jars] + [str(jar) for jar in sorted((home / "jars").glob("*.jar"))]
    command = [
        str(settings.java),
        "-cp",
        ":".join(class_path),
        f"-Xmx{settings.driver_memory}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        *settings.jvm_options,
        f"-Djava.io.tmpdir={scratch}",
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-Dio.netty.tryReflectionSetAccessible=true",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
        "org.apache.spark.deploy.SparkSubmit",
    ]
    for key, value in {"spark.local.dir": scratch, **settings.configuration()}.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, "pyspark-shell"]


def _forget_gateway() -> None:
    """Let the next session in this process start a gateway of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is not None:
        context._jsc = None  # it ends with its JVM: this ends what listens here
        context.stop()
    if SparkContext._gateway is not None:
        SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    del os.environ["PYSPARK_GATEWAY_PORT"]
    del os.environ["PYSPARK_GATEWAY_SECRET"]


def _ignore_interrupt() -> None:
    """Ctrl-C is for the run to handle: the JVM ends when the run closes its standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
