"""Resources by which pods may ask for devices of a class without a claim, and who has any."""

from __future__ import annotations

from kantopt.formats.kubernetes.devices.requests import DeviceClasses, Request
from kantopt.formats.kubernetes.devices.resources import accepted
from kantopt.formats.kubernetes.devices.slices import read_devices
from kantopt.formats.kubernetes.objects import Objects
from kantopt.schema.quantity import CLAIMED


def extended_resources(objects: Objects) -> dict[str, set[str]]:
    """Return the nodes with devices for each resource that stands for a class.

    Those are what a DeviceClass names as its ``extendedResourceName``, and a name that each class
    has anyway. Of a class whose selectors are not read all devices count.
    """
    classes = objects.by_name("resource.k8s.io", "DeviceClass")
    devices = read_devices(objects.of("resource.k8s.io", "ResourceSlice")) if classes else ()
    requests = {name: Request(name, (), tolerant=False) for _, name in classes}
    told, _ = accepted(requests.values(), DeviceClasses(classes), devices or ())
    found: dict[str, set[str]] = {}
    for (_, name), view in classes.items():
        members = told.get(requests[name])
        nodes = {d.node for d in devices or () if members is None or d.id in members}
        for resource in (f"{CLAIMED}{name}", view.at("spec").text("extendedResourceName")):
            if resource:
                found.setdefault(resource, set()).update(nodes)
    return found
