import { existsSync } from 'node:fs'
import { defineHook, type Hook, PRIORITY } from '../hook.ts'
import { TOOL_KINDS, type ToolKind } from '../tool-call.ts'
import { block } from '../verdict.ts'
import { type BuiltinOptions, checkOptions, FUNCTION, listOf, propertiesOf, TEXT, TEXTS } from './options.ts'
import { canonicalPath, isInside } from './places.ts'

/** Options of `workflowGuard`. */
export interface WorkflowGuardOptions extends BuiltinOptions {
  /** The file that must exist first. It may always be written. */
  readonly planPath: string
  /**
   * The kinds of tools to block. Default: `edit` and `write`. A shell can write, too: with `shell`, no shell runs before the
   * plan exists.
   */
  readonly blockedKinds?: readonly ToolKind[] | undefined
  /** Further tools to block, by the agent's names, ignoring case. */
  readonly blockedTools?: readonly string[] | undefined
  /** Files, and folders with their contents, that may be written without a plan. */
  readonly allowedPaths?: readonly string[] | undefined
  /**
   * The project folder that relative paths here refer to. Default: the agent's working folder, else that of this process. Set
   * it if the agent may change its folder.
   */
  readonly root?: string | undefined
  /** Returns whether the plan exists. Default: a check of the file. */
  readonly exists?: ((path: string) => boolean | Promise<boolean>) | undefined
}

/**
 * Blocks tools that write until the plan exists, except in allowed folders. Paths are compared by segments, with links
 * resolved. A call that does not name its file is blocked.
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

  /** Resolved for each call: a link may have been created since the hook was. */
  function isAllowed(paths: readonly string[], cwd: string, root: string): boolean {
    const allowed = [planPath, ...allowedPaths].flatMap(path => canonicalPath(path, root) ?? [])
    const isInOne = (path: string): boolean => {
      const place = canonicalPath(path, cwd)
      return place !== undefined && allowed.some(folder => isInside(place, folder))
    }
    return paths.length > 0 && paths.every(isInOne)
  }
  return defineHook({
    ...propertiesOf(options, 'workflow-guard', PRIORITY.business, 'block'),
    async beforeTool({ tool }) {
      if (!kinds.has(tool.kind) && !names.has(tool.name.toLowerCase())) return undefined
      // For a shell, `cwd` and paths come from the model and do not reveal where the command writes.
      const { agentCwd: cwd = options.root ?? process.cwd() } = tool
      const { root = cwd } = options
      const paths = tool.kind === 'shell' ? [] : tool.paths
      const plan = canonicalPath(planPath, root)
      if (isAllowed(paths, cwd, root) || (plan !== undefined && (await exists(plan)))) return undefined
      return block(`There is no plan yet. Write one to ${planPath} first, then make this change.`, {
        detail: paths.length === 0 ? 'the call does not say which file it writes' : 'no plan',
      })
    },
  })
}
