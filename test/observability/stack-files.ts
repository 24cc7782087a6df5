import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export interface Service {
  readonly image: string
  readonly profiles: readonly string[]
  readonly restart: string
  readonly ports?: readonly string[]
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[]
  readonly entrypoint?: readonly string[]
  readonly command?: readonly string[]
  readonly volumes?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly extra_hosts?: readonly string[]
  readonly networks?: Readonly<Record<string, { readonly aliases: readonly string[] }>>
  readonly healthcheck: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly depends_on?: Readonly<Record<string, unknown>>
}

interface Compose {
  readonly 'x-images': Readonly<Record<string, { readonly image: string }>>
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

export interface Mount {
  readonly from: string
  readonly to: string
  readonly mode: string | undefined
}

export function text(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

export function exists(path: string): boolean {
  return existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)))
}

/** The test says what shape it relies on; a file of another shape fails where that is used. */
export function yaml<Shape>(path: string): Shape {
  return parse(text(path), { merge: true })
}

export const compose: Compose = yaml<Compose>('docker-compose.yml')
export const services: readonly (readonly [string, Service])[] = Object.entries(compose.services)

export function ofProfiles(...profiles: readonly string[]): readonly (readonly [string, Service])[] {
  return services.filter(([, service]) => service.profiles.some(profile => profiles.includes(profile)))
}

export function mounts(service: Service): Mount[] {
  return (service.volumes ?? []).map(line => {
    const [from = '', to = '', mode] = line.split(':')
    return { from, to, mode }
  })
}

/** `127.0.0.1:4318:4318` */
export function published(service: Service): { host: string; hostPort: number; containerPort: number }[] {
  return (service.ports ?? []).map(line => {
    const [host = '', hostPort, containerPort] = line.split(':')
    return { host, hostPort: Number(hostPort), containerPort: Number(containerPort) }
  })
}

/** The service that answers to a host name among those of a profile, by its name or an alias. */
export function reached(profile: string, hostname: string): Service | undefined {
  const aliases = (service: Service): readonly string[] => service.networks?.['default']?.aliases ?? []
  return ofProfiles(profile).find(([name, service]) => name === hostname || aliases(service).includes(hostname))?.[1]
}

/** Ports that a container listens on inside the network, published or not, as far as its own configuration says so. */
export const LISTENS: Readonly<Record<string, readonly number[]>> = {
  collector: [4317, 4318, 8889, 13133],
  jaeger: [4318, 13133, 16686],
  phoenix: [6006],
  prometheus: [9090],
  grafana: [3000],
  langfuse: [3001],
  'langfuse-worker': [3030],
  clickhouse: [8123, 9000],
}

/** Which row of `x-images` a service runs. */
export function imageKey(service: Service): string {
  return Object.entries(compose['x-images']).find(([, { image }]) => image === service.image)?.[0] ?? ''
}

/** `prom/prometheus:v3.15.0@sha256:…` -> `3.15.0` */
export function imageVersion(image: string): string | undefined {
  return /^[a-z0-9./-]+:(?:v|version-)?(\d+\.\d+(?:\.\d+)?)(?:@sha256:[0-9a-f]{64})?$/.exec(image)?.[1]
}
