import { randomUUID } from 'node:crypto'
import { arch, hostname, platform } from 'node:os'
import type { Attributes } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import { OPENINFERENCE } from '../../contract/semconv/index.ts'
import { conventions, resources } from './sdk.ts'
import type { PipelineSettings } from './settings.ts'

/** Node's names -> those of the semantic conventions, if they differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  arm: 'arm32',
  ia32: 'x86',
  ppc: 'ppc32',
  x64: 'amd64',
}
const SYSTEMS: Readonly<Record<string, string>> = { sunos: 'solaris', win32: 'windows' }

/** Attributes of this process. Omitted with deterministic ids, so that the same input gives the same output on any machine. */
function thisProcess(): Attributes {
  return {
    [conventions().ATTR_SERVICE_INSTANCE_ID]: randomUUID(),
    'process.pid': process.pid,
    'process.runtime.name': 'nodejs',
    'process.runtime.version': process.versions.node,
    'host.name': hostname(),
    'host.arch': ARCHITECTURES[arch()] ?? arch(),
    'os.type': SYSTEMS[platform()] ?? platform(),
  }
}

function named(settings: PipelineSettings): Attributes {
  const names = conventions()
  return {
    [names.ATTR_SERVICE_NAME]: settings.serviceName,
    [names.ATTR_TELEMETRY_DISTRO_NAME]: 'hookspan',
    [names.ATTR_TELEMETRY_DISTRO_VERSION]: settings.version,
  }
}

/**
 * Later entries win.
 * @param backendAttributes attributes by which a backend identifies its tenant
 */
export function createResource(settings: PipelineSettings, backendAttributes: Attributes): Resource {
  const { defaultResource, resourceFromAttributes } = resources()
  return defaultResource().merge(
    // Without a schema URL: the official JSON serializer writes it inside the resource, where OTLP has no such field.
    resourceFromAttributes({
      ...named(settings),
      ...(settings.deterministicIds ? {} : thisProcess()),
      ...(settings.projectName === undefined ? {} : { [OPENINFERENCE.projectName]: settings.projectName }),
      ...backendAttributes,
      ...settings.resourceAttributes,
    }),
  )
}
