import { existsSync } from 'node:fs'
import { HOOKS_DEFAULT, type HooksConfig } from '../../config/hooks-config.ts'
import { hooksDirectory } from '../../config/paths.ts'
import type { HooksFound } from '../../receiver/load-hooks.ts'
import type { CommandIo } from '../command.ts'

/** The hooks of the person alone: a receiver is that of all their projects. */
export async function hooksOfUser(
  { hooks = HOOKS_DEFAULT }: { readonly hooks: HooksConfig | undefined },
  { env, home }: Pick<CommandIo, 'env' | 'home'>,
): Promise<HooksFound | undefined> {
  const folder = hooks.enabled ? (hooks.global_dir ?? hooksDirectory(env, home)) : undefined
  if (folder === undefined) return undefined
  // A file may be required that is not there.
  const isMeant = Object.keys(hooks.options).length > 0
  if (!existsSync(folder) && !isMeant && hooks.global_dir === undefined) return undefined
  // Where there are none, nothing of them is loaded.
  const { hookSettings, loadConfiguredHooks } = await import('../../hooks/configured-hooks.ts')
  return loadConfiguredHooks(hookSettings({ hooks }, env, home), undefined)
}
