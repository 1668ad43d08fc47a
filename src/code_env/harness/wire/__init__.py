"""Everything that crosses between a program and its judge: the channel, plain data, endings and records."""
