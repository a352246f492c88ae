"""The areas, one module each: a module here that defines `AREA` is one."""
