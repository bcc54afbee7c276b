"""Programs of other systems that drasat runs beside itself."""
