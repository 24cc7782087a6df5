import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ignoreErrors } from '../../contract/foreign.ts'
import { HOOK_NAMES } from '../../contract/index.ts'
import { writePrivate } from '../../delivery/trace-log/private-file.ts'
import { createReceiverFolders, lastPort, readSecret, readToken, receiverFiles } from '../../receiver/receiver-files.ts'
import { packageFile } from '../package-folder.ts'
import { readText, restorable } from './config-file.ts'
import { aboutGuards } from './hooks-host.ts'
import { type FileChange, type HostSetup, type InitContext, orByHand, type PackageLink, type Plan } from './plan.ts'
import { inHome } from './plugin-file.ts'
import { addItem, type ListPath, listAt, removeItems, type YamlItem } from './yaml-list.ts'

const hermesHome = inHome('.hermes', 'HERMES_HOME')

/** Hermes with its Python plugin: links to folders of this package and a line in `config.yaml` (0.19 and 0.22.2). */
export const hermes: HostSetup = setup('plugin')
/** Hermes with outbound webhooks, which need no plugin (since 0.22). */
export const hermesWebhook: HostSetup = setup('webhook')

type HermesSetup = 'plugin' | 'webhook'

const NAME = 'hookspan'
const HERMES = 'hermes'
const ENABLED: ListPath = ['plugins', 'enabled']
const DISABLED: ListPath = ['plugins', 'disabled']
const OUTBOUND: ListPath = ['hooks', 'outbound']
const PLUGIN: YamlItem = { value: NAME, block: [NAME], flow: NAME }
/** Hooks of other agents only: Hermes warns about unknown hooks. */
const NONE_OF_ITS = ['on_iteration_start', 'on_turn_event', 'pre_control_hook', 'post_control_hook']
const EVENTS: readonly string[] = HOOK_NAMES.filter(name => !NONE_OF_ITS.includes(name))
/** In seconds. A receiver answers within a millisecond. */
const TIMEOUT = 2
const RESTART = 'A Hermes that runs loads it when it starts the next time: hermes gateway restart'
const NEEDED =
  'Webhooks do not start a receiver: keep one running (hookspan serve --install). Events sent while none runs are lost.'
const SIGNED = 'Hermes signs its requests with the secret in the file, which only your user can read now'

function setup(way: HermesSetup): HostSetup {
  return {
    title: 'Hermes',
    canGuard: way === 'plugin',
    folder: hermesHome,
    enable: surroundings => enable(way, surroundings),
    undo,
    print: surroundings => print(way, surroundings),
  }
}

async function enable(way: HermesSetup, surroundings: InitContext): Promise<Plan> {
  packageFile(surroundings.folder, 'integrations', 'hermes', '__init__.py')
  const file = configPath(surroundings)
  const before = await readText(file)
  const text = before ?? ''
  return edited(file, () => {
    const secret = secretFor(way, surroundings, randomBytes(32).toString('hex'))
    const after = enabled(text, way, surroundings, secret)
    const guards = planGuards(surroundings)
    const links =
      way === 'plugin'
        ? [...linksTo(surroundings), ...noSecret(text, surroundings), ...guards.links]
        : [...noLinks(surroundings), ...noGuards(surroundings)]
    if (after === text && links.length === 0 && guards.prepare === undefined)
      return { kind: 'nothing', file, why: 'Hermes loads hookspan already' }
    const change = { kind: 'change', file, before, after, isUsers: true, links } as const
    if (way === 'plugin') return { ...change, ...guards, links, notes: [...guards.notes, RESTART] }
    const prepare = (): void => keepSecret(surroundings, secret)
    return { ...change, isPrivate: true, prepare, notes: [NEEDED, SIGNED, RESTART] }
  })
}

async function undo(surroundings: InitContext): Promise<Plan> {
  const file = configPath(surroundings)
  const before = await readText(file)
  const plan = edited(file, () => {
    const links = [...noLinks(surroundings), ...noSecret(before ?? '', surroundings), ...noGuards(surroundings)]
    const after = before && removeItems(removeItems(before, OUTBOUND, isOurWebhook), ENABLED, isOurPlugin)
    if (after === before && links.length === 0) return { kind: 'nothing', file, why: 'Hermes does not load hookspan' }
    return { kind: 'change', file, before, after, isUsers: true, isUndo: true, links, notes: [RESTART] }
  })
  if (plan.kind !== 'change') return plan
  const ways = (['plugin', 'webhook'] as const).map(
    way => (old: string) => enabled(old, way, surroundings, secretFor(way, surroundings, '')),
  )
  return { ...plan, ...(await restorable(plan, '', ways)) }
}

function print(way: HermesSetup, surroundings: InitContext): ReturnType<HostSetup['print']> {
  const links = places(surroundings).map(({ path, to }) => `${path} has to be a link to ${to}`)
  return {
    file: configPath(surroundings),
    content: enabled('', way, surroundings, secretFor(way, surroundings, '<secret>')),
    note: ['to be merged into that file', ...(way === 'plugin' ? links : [])].join('; '),
  }
}

/** Enables one way only: two would emit each hook twice. */
function enabled(text: string, way: HermesSetup, surroundings: InitContext, secret: string): string {
  if (way === 'plugin') {
    const cleared = removeItems(removeItems(text, OUTBOUND, isOurWebhook), DISABLED, isOurPlugin)
    return listAt(cleared, ENABLED).some(isOurPlugin) ? cleared : addItem(cleared, ENABLED, PLUGIN)
  }
  const item = webhook(surroundings, secret)
  const cleared = removeItems(text, ENABLED, isOurPlugin)
  if (listAt(cleared, OUTBOUND).some(each => JSON.stringify(each) === JSON.stringify(item.value))) return cleared
  return addItem(removeItems(cleared, OUTBOUND, isOurWebhook), OUTBOUND, item)
}

function isOurPlugin(value: unknown): boolean {
  return value === NAME
}

function isOurWebhook(value: unknown): boolean {
  const { name, url } = (value ?? {}) as { name?: unknown; url?: unknown }
  return name === NAME || (typeof url === 'string' && /^http:\/\/127\.0\.0\.1:\d+\/t\/[0-9a-f]{64}\/hermes$/.test(url))
}

function webhook({ env, home }: InitContext, secret: string): YamlItem {
  const place = receiverFiles(env, home)
  const [token, port] = [readToken(place), lastPort(place)]
  if (token === undefined || port === undefined) {
    throw new Error(
      'the receiver has not run yet, so its port is not known: npx hookspan serve --detach, then this again',
    )
  }
  const url = `http://127.0.0.1:${port}/t/${token}/hermes`
  const events = `[${EVENTS.join(', ')}]`
  const quoted = JSON.stringify(secret)
  return {
    value: { name: NAME, url, events: EVENTS, timeout: TIMEOUT, secret },
    block: [`name: ${NAME}`, `url: ${url}`, `events: ${events}`, `timeout: ${TIMEOUT}`, `secret: ${quoted}`],
    flow: `{name: ${NAME}, url: "${url}", events: ${events}, timeout: ${TIMEOUT}, "secret": ${quoted}}`,
  }
}

/** The signing secret, one for all profiles because there is one receiver. Empty for the plugin, which does not sign. */
function secretFor(way: HermesSetup, { env, home }: InitContext, fresh: string): string {
  return way === 'plugin' ? '' : (readSecret(receiverFiles(env, home), HERMES) ?? fresh)
}

/** The receiver must have the secret before Hermes does. */
function keepSecret(surroundings: InitContext, secret: string): void {
  const place = receiverFiles(surroundings.env, surroundings.home)
  createReceiverFolders(place, () => undefined)
  if (readSecret(place, HERMES) === undefined) writePrivate(secretPath(surroundings), `${secret}\n`)
}

function noSecret(text: string, surroundings: InitContext): readonly PackageLink[] {
  const path = secretPath(surroundings)
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
  return isThere && listAt(text, OUTBOUND).some(isOurWebhook) ? [{ path, to: undefined }] : []
}

function secretPath({ env, home }: InitContext): string {
  return join(receiverFiles(env, home).directory, `${HERMES}-secret`)
}

/** Links to create. On Windows, targets end in a backslash. A folder with our manifest is a copy. @throws Error if foreign */
function linksTo(surroundings: InitContext): readonly PackageLink[] {
  return places(surroundings).filter(({ path, to }) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.isSymbolicLink()) return found === undefined || resolve(readlinkSync(path)) !== to
    const isOurs = (name: string): boolean => /^name: hookspan$/m.test(readFileSync(join(path, name), 'utf8'))
    if (MANIFESTS.some(name => ignoreErrors(() => isOurs(name)))) return false
    throw new Error(`${path} is not what hookspan put there; it stays as it is: move it away, and run this again`)
  })
}

function noLinks(surroundings: InitContext): readonly PackageLink[] {
  const links = places(surroundings).filter(({ path }) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
  return links.map(({ path }) => ({ path, to: undefined }))
}

const MANIFESTS = ['plugin.yaml', 'HOOK.yaml']

function places(surroundings: InitContext): readonly PackageLink[] {
  const [home, ours] = [hermesHome(surroundings), join(surroundings.folder, 'integrations', 'hermes')]
  return [
    { path: join(home, 'plugins', NAME), to: ours },
    { path: join(home, 'hooks', NAME), to: join(ours, 'gateway') },
  ]
}

function edited(file: string, plan: () => Plan): Plan {
  try {
    return orByHand(file, plan, () => [`${file}: under plugins.enabled, add: ${NAME}`])
  } catch (error) {
    // YAML with an alias of nothing, or with too many aliases.
    if (!(error instanceof ReferenceError)) throw error
    throw new Error(`${file} stays as it is: ${error.message}`, { cause: error })
  }
}

function configPath(surroundings: InitContext): string {
  return join(hermesHome(surroundings), 'config.yaml')
}

/** The part of a plan that concerns guards. The plugin in Hermes reads them from its own file beside the configuration. */
function planGuards(
  surroundings: InitContext,
): Required<Pick<FileChange, 'links' | 'notes'>> & Pick<FileChange, 'prepare'> {
  const { guards } = surroundings
  if (guards === undefined) return { links: [], notes: [] }
  if (guards === 'off') return { links: noGuards(surroundings), notes: [] }
  const path = guardsPath(surroundings)
  const text = `${guards}\n`
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return { links: [], notes: [] }
  return { prepare: () => writePrivate(path, text), links: [], notes: aboutGuards('Hermes', guards) }
}

function noGuards(surroundings: InitContext): readonly PackageLink[] {
  const path = guardsPath(surroundings)
  return existsSync(path) ? [{ path, to: undefined }] : []
}

function guardsPath(surroundings: InitContext): string {
  return join(hermesHome(surroundings), 'hookspan-guards')
}
