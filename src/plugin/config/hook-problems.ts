import type { Resolution } from './types.ts'

/**
 * The problems with the hook settings, one line each. Includes an unreadable file, because it may contain hook settings. It is
 * omitted if another source sets `hooks`.
 */
export function hookProblems({ problems, broken, sources }: Resolution): string[] {
  const mayHaveSaid = sources.get('hooks')?.from === 'default' ? broken : undefined
  return problems.filter(({ key }) => /^hooks\b/.test(key) || key === mayHaveSaid).map(({ message }) => message)
}
