"""The HTTP face: each route decodes, authorises, calls one service and encodes."""
