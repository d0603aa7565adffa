"""Checks references between Kubernetes manifests, which a schema cannot check.

Called by check-kubernetes.sh with the manifests. Prints each problem with its file; exit code 1 if there is any.
"""

import sys

import yaml

NAMESPACE = "crivello"
# Made by hand; 00-namespace.yaml says how.
SECRETS = {"nodes", "people"}


def problems(documents):
    """Yields a sentence for each problem."""
    by_kind = {}
    for file, document in documents:
        by_kind.setdefault(document["kind"], []).append((file, document))
    named = {(d["kind"], d["metadata"]["name"]) for _, d in documents}
    pods = [d["spec"]["template"]["metadata"]["labels"] for _, d in by_kind["StatefulSet"]]

    def chosen(labels):
        return any(labels.items() <= pod.items() for pod in pods)

    for file, document in documents:
        where = f"{file}: {document['kind']} {document['metadata']['name']}"
        if document["kind"] == "Namespace":
            continue
        if document["metadata"].get("namespace") != NAMESPACE:
            yield f"{where}: not in the namespace {NAMESPACE}"
        spec = document.get("spec", {})
        if document["kind"] == "Service" and not chosen(spec["selector"]):
            yield f"{where}: no pod has the labels {spec['selector']}"
        if document["kind"] == "PodDisruptionBudget" and not chosen(spec["selector"]["matchLabels"]):
            yield f"{where}: no pod has the labels {spec['selector']['matchLabels']}"
        if document["kind"] == "StatefulSet":
            yield from in_stateful_set(where, spec, named)


def in_stateful_set(where, spec, named):
    """Checks the service and the labels of a StatefulSet, and the names that its containers use."""
    if ("Service", spec["serviceName"]) not in named:
        yield f"{where}: there is no Service {spec['serviceName']}"
    template = spec["template"]
    if not spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items():
        yield f"{where}: its selector does not match its own pods"
    volumes = {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    for volume in template["spec"].get("volumes", []):
        volumes.add(volume["name"])
        config = volume.get("configMap", {}).get("name")
        if config and ("ConfigMap", config) not in named:
            yield f"{where}: there is no ConfigMap {config}"
        secret = volume.get("secret", {}).get("secretName")
        if secret and secret not in SECRETS:
            yield f"{where}: nobody makes the Secret {secret}"
    for container in template["spec"]["containers"]:
        if not {"cpu", "memory"} <= container["resources"].get("limits", {}).keys():
            yield f"{where}: no limits of CPU and memory"
        ports = {port["containerPort"] for port in container["ports"]}
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                yield f"{where}: there is no volume {mount['name']}"
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if container[probe]["grpc"]["port"] not in ports:
                yield f"{where}: {probe} uses a port that is not open"


def main():
    documents = []
    for file in sys.argv[1:]:
        with open(file, encoding="utf-8") as text:
            documents += [(file, document) for document in yaml.safe_load_all(text) if document]
    found = list(problems(documents))
    for problem in found:
        print(f"check-kubernetes: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
