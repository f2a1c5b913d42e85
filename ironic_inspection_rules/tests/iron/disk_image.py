# SPDX-License-Identifier: Apache-2.0

"""A disk image that says on the serial console that it has booted."""

import struct

BOOTED = 'disk: the instance has booted'

_SECTOR = 512
_ADDRESS = 0x7C00
"""Where the BIOS loads the first sector of a disk."""

_CODE = bytes.fromhex(
    '31c0'  # xor ax, ax
    '8ed8'  # mov ds, ax
    'fc'  # cld
    'be0000'  # mov si, the text; filled in below
    'ac'  # next: lodsb
    '84c0'  # test al, al
    '7412'  # jz end
    '88c3'  # mov bl, al
    'bafd03'  # mov dx, line status of the first serial port
    'ec'  # wait: in al, dx
    'a820'  # test al, ready to send
    '74fb'  # jz wait
    'baf803'  # mov dx, data of the first serial port
    '88d8'  # mov al, bl
    'ee'  # out dx, al
    'ebe9'  # jmp next
    'f4'  # end: hlt
    'ebfd'
)  # jmp end
_TEXT_OPERAND = 6
"""Offset of the address of the text in the code."""

_START = 2048
_SECTORS = 6144
_LINUX = 0x83
_ACTIVE = 0x80


def build() -> bytes:
    """Return an image for a BIOS: a boot sector and one partition."""
    code = bytearray(_CODE)
    struct.pack_into('<H', code, _TEXT_OPERAND, _ADDRESS + len(code))
    boot = code + f'{BOOTED}\r\n'.encode() + b'\0'
    identifier = struct.pack('<I', 0x1BADB002) + bytes(2)
    partition = struct.pack(
        '<B3sB3sII',
        _ACTIVE,
        b'\xfe\xff\xff',
        _LINUX,
        b'\xfe\xff\xff',
        _START,
        _SECTORS,
    )
    sector = (
        bytes(boot).ljust(440, b'\0')
        + identifier
        + partition.ljust(64, b'\0')
        + b'\x55\xaa'
    )
    return sector.ljust((_START + _SECTORS) * _SECTOR, b'\0')
