"""A queue.yaml in which every section is used."""

FULL = """\
apiVersion: lakeshore.dreamlake.ai/v1alpha1
kind: Queue
metadata: {name: gpu}
spec:
  kind: fifo
  elasticity: {kind: pool_with_threshold, warm: 1, threshold: 8, max: 16, idleTimeoutSeconds: 120}
  admission: {maxDepth: 10000, onFull: reject, rateLimit: {rate: 200, burst: 400}, deadlineCutoffSeconds: 5}
  worker:
    image: ghcr.io/example/my-worker:1
    concurrency: 1
    resources: {limits: {nvidia.com/gpu: 1}}
    drainTimeoutSeconds: 3600
    allowPickled: false
    storage: {}      # where --root lives: emptyDir (default), a PVC, or S3
    template: {}     # a partial PodTemplateSpec, merged; unsafe fields refused unless the chart allows them
"""
