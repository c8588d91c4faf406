"""Write environments and workflows for Troupe in Python.

An environment is a subclass of `troupe_plugin.environment.Environment`, a
workflow one of `troupe_plugin.workflow.Workflow`. `troupe_plugin.testing` plays
both without a host, `host plugin build` makes a component of them.
"""

__version__ = "0.1.0"
