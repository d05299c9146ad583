"""Where rows come from: files, chunks of files, a cluster."""
