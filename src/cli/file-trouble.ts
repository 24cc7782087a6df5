import { fileErrorReason } from '../delivery/trace-log/private-file.ts'

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EDQUOT: 'the quota is used up',
}

export function whyNot(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : String(message ?? error)
  return WORDS[name] ?? fileErrorReason({ code: name, message: name })
}
