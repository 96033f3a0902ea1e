"""The elastic pool of one machine: worker processes that follow a queue, as pods do on Kubernetes."""
