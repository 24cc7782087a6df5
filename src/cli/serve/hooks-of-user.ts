import { existsSync } from 'node:fs'
import { HOOKS_DEFAULT, type HooksConfig } from '../../plugin/config/hooks-config.ts'
import { hooksDirectory } from '../../plugin/config/paths.ts'
import type { LoadedHookSet } from '../../receiver/load-decisions.ts'
import type { CommandIo } from '../command.ts'

/** The user's own hooks only, because one receiver serves all projects. */
export async function hooksOfUser(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  { env, home }: Pick<CommandIo, 'env' | 'home'>,
): Promise<LoadedHookSet | undefined> {
  const folder = hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined
  if (folder === undefined) return undefined
  // A required file may be missing.
  const isMeant = Object.keys(hooks.options).length > 0
  if (!existsSync(folder) && !isMeant && hooks.global_dir === undefined) return undefined
  // Without hooks, their code is not loaded.
  const { hookFolderSettings: hookSettings, loadConfiguredHooks } = await import('../../guards/configured-hooks.ts')
  return loadConfiguredHooks(hookSettings({ hooks }, env, home), undefined)
}
