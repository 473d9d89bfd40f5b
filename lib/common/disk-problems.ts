/** Errors of the file system by their codes, each with what to do about it. */
export const diskProblems: Readonly<Record<string, readonly [problem: string, remedy: string]>> = {
  ENOSPC: ['the disk is full', 'Make room, or choose a folder on another disk.'],
  EDQUOT: ['your disk quota is used up', 'Make room, or choose a folder on another disk.'],
  EFBIG: ['the file would be too large for this file system', 'Choose a folder on another disk.'],
  EROFS: ['the file system is read-only', 'Choose another folder.'],
  EACCES: ['permission denied', 'Choose another file or folder, or ask its owner.'],
  EPERM: ['the operation is not allowed', 'Choose another file or folder, or ask its owner.'],
  EISDIR: ['this is a folder', 'Give the name of a file.'],
  ENOENT: ['there is no such file or folder', 'Make the folder, or choose another one.'],
  ENOTDIR: ['a part of the path is a file, not a folder', 'Choose another folder.'],
  EEXIST: ['it exists already', 'Choose another name.'],
  ELOOP: ['this is a symbolic link', 'Remove it, or choose another name.'],
  ENAMETOOLONG: ['the name is too long for this file system', 'Choose a shorter name.'],
  EMFILE: ['too many open files', 'Raise the limit with ulimit -n.'],
  EIO: ['the disk reports an error', 'Check the disk, or try another one.'],
};
