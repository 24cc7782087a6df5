const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTPRIVATE: 'others may write there',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
}

export function whyNot(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const name = typeof code === 'string' ? code : String(message ?? error)
  return WORDS[name] ?? name
}
