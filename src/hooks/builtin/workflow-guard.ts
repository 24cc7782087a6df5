import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { TOOL_KINDS, type ToolKind } from '../tool-call.ts'
import { block } from '../verdict.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, listOf, TEXT, TEXTS } from './options.ts'
import { canonicalPath, isInside, type PlaceOptions } from './places.ts'

/** What waits for which file. */
export interface WorkflowGuardOptions extends BuiltinOptions {
  /** The file that has to be there first. It may always be written. */
  readonly planPath: string
  /** What waits for it. Default: `edit` and `write`. A shell writes, too: with `shell` nothing runs in one before there is a plan. */
  readonly blockedKinds?: readonly ToolKind[] | undefined
  /** Tools that wait for it, too, by their names in the agent; the case of letters does not count. */
  readonly blockedTools?: readonly string[] | undefined
  /** Files, and folders with all that is in them, that may be written without a plan. */
  readonly allowedPaths?: readonly string[] | undefined
  /**
   * The folder of the project, from which the paths here are meant. Default: the agent's working folder, else that of this process.
   * Name it where an agent may change its folder.
   */
  readonly root?: string | undefined
  /** Whether there is a plan. Default: whether the file exists. */
  readonly exists?: ((path: string) => boolean | Promise<boolean>) | undefined
}

/**
 * No edits before there is a plan: tools that write are blocked until a file exists, but in the folders that are allowed. Paths are
 * compared by their segments, with links resolved. A call that does not say which file it writes is blocked.
 *
 * @throws {TypeError} one line, for an option that is unknown or wrong
 */
export function workflowGuard(options: WorkflowGuardOptions): Hook<'block'> {
  checkOptions('workflowGuard', options, {
    planPath: TEXT,
    blockedKinds: listOf(TOOL_KINDS),
    blockedTools: TEXTS,
    allowedPaths: TEXTS,
    root: TEXT,
    exists: FUNCTION,
  })
  const { planPath, blockedKinds = ['edit', 'write'], blockedTools = [], allowedPaths = [] } = options
  if (planPath === undefined) throw new TypeError('workflowGuard: planPath is a text')
  const { exists = existsSync } = options
  const kinds = new Set(blockedKinds)
  const names = new Set(blockedTools.map(name => name.toLowerCase()))
  const places: PlaceOptions = { home: homedir() }
  const placeOf = (path: string, cwd: string): string | undefined => canonicalPath(path, cwd, places)

  /** Each time anew: a link may have been made since the hook was. */
  function isAllowed(paths: readonly string[], cwd: string, root: string): boolean {
    const allowed = [planPath, ...allowedPaths].flatMap(path => placeOf(path, root) ?? [])
    const isInOne = (path: string): boolean => {
      const place = placeOf(path, cwd)
      return place !== undefined && allowed.some(folder => isInside(place, folder))
    }
    return paths.length > 0 && paths.every(isInOne)
  }
  return defineHook({
    name: options.name ?? 'workflow-guard',
    priority: options.priority ?? PRIORITY.business,
    onFailure: options.onFailure ?? 'block',
    async beforeTool({ tool }) {
      if (!kinds.has(tool.kind) && !names.has(tool.name.toLowerCase())) return undefined
      // Of a shell, `cwd` is what the model has said, and so are its paths: what the command writes nobody has said.
      const { agentCwd: cwd = options.root ?? process.cwd() } = tool
      const { root = cwd } = options
      const paths = tool.kind === 'shell' ? [] : tool.paths
      const plan = placeOf(planPath, root)
      if (isAllowed(paths, cwd, root) || (plan !== undefined && (await exists(plan)))) return undefined
      return block(`There is no plan yet. Write one to ${planPath} first, then make this change.`, {
        detail: paths.length === 0 ? 'the call does not say which file it writes' : 'no plan',
      })
    },
  })
}
