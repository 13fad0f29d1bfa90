"""The engine at a step, with one module for each subject: graph task, exec_info, queues, buffers, .grad, nested passes,
streams.
"""
