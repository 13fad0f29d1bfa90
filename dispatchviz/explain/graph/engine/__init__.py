"""The engine at a step, a subject a module: graph task, exec_info, queues, buffers, .grad, nested passes, streams."""
