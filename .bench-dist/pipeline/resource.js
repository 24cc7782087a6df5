import { randomUUID } from 'node:crypto';
import { arch, hostname, platform } from 'node:os';
import { OPENINFERENCE } from '../semconv/index.js';
import { conventions, resources } from './sdk.js';
/** The process that recorded. Left out with deterministic ids, where the same input must give the same output anywhere. */
function thisProcess() {
    return {
        [conventions().ATTR_SERVICE_INSTANCE_ID]: randomUUID(),
        'process.pid': process.pid,
        'process.runtime.name': 'nodejs',
        'process.runtime.version': process.versions.node,
        'host.name': hostname(),
        'host.arch': arch(),
        'os.type': platform(),
    };
}
function named(settings) {
    const names = conventions();
    return {
        [names.ATTR_SERVICE_NAME]: settings.serviceName,
        [names.ATTR_TELEMETRY_DISTRO_NAME]: 'hookspan',
        [names.ATTR_TELEMETRY_DISTRO_VERSION]: settings.version,
    };
}
/** `backendAttributes` are those that a backend finds its tenant by. Later entries win. */
export function createResource(settings, backendAttributes) {
    const { defaultResource, resourceFromAttributes } = resources();
    return defaultResource().merge(resourceFromAttributes({
        ...named(settings),
        ...(settings.deterministicIds ? {} : thisProcess()),
        ...(settings.projectName === undefined ? {} : { [OPENINFERENCE.projectName]: settings.projectName }),
        ...backendAttributes,
        ...settings.globalTags,
        ...settings.resourceAttributes,
    }));
}
