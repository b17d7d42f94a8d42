"""The sidecar: one small process beside the app, called over a Unix socket with MessagePack. docs/rpc.md is its manual.

codec (bytes and documents) - sessions (the registry) - dispatch (the methods) - server (joins them in one loop),
with limits, log, socketfile and connection as its parts; client is the other end.
"""
