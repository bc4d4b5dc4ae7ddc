-- What the uploads of a workspace may take up, in bytes; null: what holds for every workspace (the settings).
ALTER TABLE workspaces ADD COLUMN max_file_bytes bigint;
ALTER TABLE workspaces ADD COLUMN max_files_bytes bigint;
