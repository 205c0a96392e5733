"""Stories that need whole systems: real processes, real networks, real disks."""
