"""The web page of the control plane under ``/ui``: rendered here, live by one small script of our own."""
