-- put_checkpoint_part
-- Keep one part of an image; parts are named by the image's digest, so a part that is there is the same.
INSERT INTO checkpoint_part (digest, part, data)
VALUES (:digest, :part, :data)
ON CONFLICT DO NOTHING

-- count_checkpoint_parts
-- How many parts of an image are here.
SELECT count(*)
FROM checkpoint_part
WHERE digest = :digest

-- put_checkpoint
-- Let an image count.
INSERT INTO checkpoint (revision, hash, digest, parts)
VALUES (:revision, :hash, :digest, :parts)
ON CONFLICT (revision) DO UPDATE
SET digest = excluded.digest,
    parts = excluded.parts

-- checkpoints
-- The images that count, newest first.
SELECT revision, hash, digest, parts
FROM checkpoint
ORDER BY revision DESC

-- checkpoint_part
-- One part of an image.
SELECT data
FROM checkpoint_part
WHERE digest = :digest
  AND part = :part

-- drop_checkpoints
-- Let all but the newest $keep images and that of $base count no longer, and none from before it.
DELETE FROM checkpoint
WHERE revision < :base
   OR (revision > :base
       AND revision NOT IN (
           SELECT revision
           FROM checkpoint
           ORDER BY revision DESC
           LIMIT :keep
       ))

-- drop_checkpoint_part
-- Remove one part of some image that does not count.
DELETE FROM checkpoint_part
WHERE rowid = (
    SELECT rowid
    FROM checkpoint_part
    WHERE digest NOT IN (SELECT digest FROM checkpoint)
    LIMIT 1
)
