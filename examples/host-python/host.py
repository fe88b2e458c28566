"""A host in Python: starts sfcore as a plugin, and has it open a core file.

    python3 host.py SFCORE CORE PROGRAMS

It needs grpcio and the code that is made of the protocol, by grpcio-tools

    python3 -m grpc_tools.protoc -I ../../plugin/proto/v2 --python_out=. --grpc_python_out=. \
        sfcore/plugin/v2/{plugin,report,host}.proto

or by Debian's protobuf-compiler-grpc:

    protoc -I ../../plugin/proto/v2 --python_out=. --grpc_out=. --plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin \
        sfcore/plugin/v2/{plugin,report,host}.proto
"""

import os
import subprocess
import sys

import grpc
from sfcore.plugin.v2 import plugin_pb2 as proto
from sfcore.plugin.v2 import plugin_pb2_grpc as service
from sfcore.plugin.v2 import report_pb2 as report


def start(sfcore):
    """Starts the plugin, and returns its process and its gRPC address."""
    plugin = subprocess.Popen(
        [sfcore, "plugin", "--linger=5s"],
        env=os.environ | {"SFCORE_PLUGIN": "5f7c6a1e0b5d4d0f9a3e8b1c72d9e6a4", "PLUGIN_PROTOCOL_VERSIONS": "2"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    line = plugin.stdout.readline().strip()
    try:
        core_version, version, network, address, kind = line.split("|")[:5]
    except ValueError:
        sys.exit(f"host.py: the plugin did not start: {line or 'see above'}")
    if (core_version, version, kind) != ("1", "2", "grpc"):
        sys.exit(f"host.py: the plugin speaks another protocol: {line}")
    return plugin, f"unix:{address}" if network == "unix" else address


def word(name, prefix):
    """Returns the word of reports for a value: "frame-pointer" for METHOD_FRAME_POINTER."""
    return name.removeprefix(prefix).lower().replace("_", "-")


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: host.py SFCORE CORE PROGRAMS")
    sfcore, core, programs = sys.argv[1:]
    plugin, address = start(sfcore)
    try:
        # sfcore is "localhost" to gRPC: the path of a socket is no name of a host.
        with grpc.insecure_channel(address, options=[("grpc.default_authority", "localhost")]) as channel:
            client = service.PluginServiceStub(channel)
            session = client.Open(proto.OpenRequest(core=core, paths=[programs])).session
            for stack in client.Stacks(proto.StacksRequest(session=session)):
                print(f"thread {stack.thread.tid}{' crashed' if stack.thread.crashed else ''}")
                for f in stack.frames:
                    print(f"#{f.index} {f.pc:#x} {f.function} {word(report.Method.Name(f.method), 'METHOD_')}")
                print(word(report.StopReason.Name(stack.stop.reason), "STOP_REASON_"))
    except grpc.RpcError as error:
        sys.exit(f"host.py: {error.details()}")
    finally:
        plugin.terminate()
        plugin.wait()


if __name__ == "__main__":
    main()
